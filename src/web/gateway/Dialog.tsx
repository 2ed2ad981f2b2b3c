import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import { useAction } from "./useAction.ts"
import { Problem } from "./View.tsx"

/** A modal dialog. It traps the focus and restores it. If it `stays`, only `close` closes it, and Escape does not. */
export const Dialog = ({
  children,
  onClose,
  stays = false,
  title,
}: {
  readonly title: string
  readonly stays?: boolean
  readonly onClose: () => void
  readonly children: (close: () => void) => ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const isDone = useRef(false)
  const titleId = useId()
  // In a layout effect, or the page behind would receive the next key.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const close = () => {
    isDone.current = true
    dialog.current?.close()
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      closedby={stays ? "none" : undefined}
      // Browsers without `closedby` close it on Escape, and let a page prevent that only once in a row.
      onClose={() => (stays && !isDone.current ? dialog.current?.showModal() : onClose())}
    >
      <div class="stack">
        <h3 id={titleId}>{title}</h3>
        {children(close)}
      </div>
    </dialog>
  )
}

/** Asks before `act`. `onClose` gets whether it was done. */
export const Confirm = ({
  act,
  busyText,
  children,
  onClose,
  title,
  verb,
}: {
  readonly title: string
  readonly verb: string
  readonly busyText: string
  readonly act: () => Promise<unknown>
  readonly onClose: (done: boolean) => void
  readonly children: ComponentChildren
}) => {
  const done = useRef(false)
  const { busy, failure, run } = useAction()
  return (
    <Dialog title={title} onClose={() => onClose(done.current)}>
      {(close) => (
        <>
          <p>{children}</p>
          {failure !== undefined && <Problem failure={failure} />}
          <div class="row end">
            <button type="button" onClick={close}>
              Keep it
            </button>
            <button
              type="button"
              class="bad"
              aria-disabled={busy}
              onClick={() =>
                run(act, () => {
                  done.current = true
                  close()
                })
              }
            >
              {busy ? busyText : verb}
            </button>
          </div>
        </>
      )}
    </Dialog>
  )
}
