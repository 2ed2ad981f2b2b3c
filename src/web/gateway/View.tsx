import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"

/** One view: its heading gets the focus when it is newly shown, so that keyboards and screen readers start there. */
export const View = ({
  actions,
  children,
  title,
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  // Before anything else can happen: nobody finds the view without its name, or the focus where the last view was.
  useLayoutEffect(() => heading.current?.focus(), [])
  useLayoutEffect(() => {
    document.title = `${title} · sealgate gateway`
  }, [title])
  return (
    <div class="stack">
      <div class="view-head">
        <h2 tabIndex={-1} ref={heading}>
          {title}
        </h2>
        {actions !== undefined && <div class="row">{actions}</div>}
      </div>
      {children}
    </div>
  )
}
