import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"

/** Something that is drawn once somebody opens it: an answer's schema may go twenty levels deep. */
export const Fold = ({
  children,
  open = false,
  summary,
}: {
  readonly summary: ComponentChildren
  readonly open?: boolean
  readonly children: () => ComponentChildren
}) => {
  const [opened, setOpened] = useState(open)
  return (
    <details open={open} onToggle={({ currentTarget }) => currentTarget.open && setOpened(true)}>
      <summary>{summary}</summary>
      {opened && <div class="fold stack">{children()}</div>}
    </details>
  )
}
