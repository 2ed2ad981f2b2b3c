import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef } from "preact/hooks"
import { CopyableId } from "../shared/Copy.tsx"
import type { Failure } from "./failure.ts"
import type { Loaded } from "./useLoad.ts"

/** A view. Its heading takes the focus when shown, so that keyboard and screen reader start there. */
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
  // In a layout effect, so that the view never appears without its title or with the focus of the last view.
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
        {actions !== undefined && actions !== false && <div class="row">{actions}</div>}
      </div>
      {children}
    </div>
  )
}

/**
 * Placeholder for a value: its failure, or a note that it is loading. CSS delays the note, so that quick answers do not
 * flicker.
 */
export const Unloaded = ({
  loaded: { failure, reload, value },
  what,
}: {
  readonly loaded: Pick<Loaded<unknown>, "failure" | "reload" | "value">
  readonly what: string
}) => {
  if (failure !== undefined) return <Problem failure={failure} onRetry={reload} />
  return value === undefined ? <p class="muted loading">Loading {what}…</p> : null
}

export const Empty = ({ children, title }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="card empty">
    <p>
      <strong>{title}</strong>
    </p>
    <p class="muted">{children}</p>
  </div>
)

/** Shows why something failed, what to do, and the trace id for the logs. */
export const Problem = ({
  failure,
  onRetry,
}: {
  readonly failure: Failure
  readonly onRetry?: (() => void) | undefined
}) => (
  <div class="note bad" role="alert">
    <p>
      <strong>{failure.title}</strong>
      {failure.detail !== undefined && failure.issues.length === 0 && <> {failure.detail}</>}
    </p>
    {failure.issues.length > 0 && (
      <ul class="issues">
        {failure.issues.map(({ message, path }) => (
          <li key={`${path} ${message}`}>
            <code>{path}</code>: {message}
          </li>
        ))}
      </ul>
    )}
    <p>{failure.advice}</p>
    {failure.traceId !== undefined && (
      <p class="small">
        Trace id <CopyableId id={failure.traceId} what="trace id" />
      </p>
    )}
    {onRetry !== undefined && failure.final !== true && (
      <p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </p>
    )}
  </div>
)
