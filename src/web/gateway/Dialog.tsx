import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import { type Action, useAction } from "./useAction.ts"
import { Problem } from "./View.tsx"

/**
 * A modal dialog that traps and restores the focus. If it `stays`, and while its action runs, Escape does not close it;
 * only `close` does.
 */
export const Dialog = ({
  children,
  onClose,
  stays = false,
  title,
}: {
  readonly title: string
  readonly stays?: boolean
  readonly onClose: () => void
  readonly children: (close: () => void, action: Action) => ComponentChildren
}) => {
  const action = useAction()
  const isStaying = stays || action.busy
  const dialog = useRef<HTMLDialogElement>(null)
  const isDone = useRef(false)
  const titleId = useId()
  // A layout effect, because the page behind would otherwise receive the next key.
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const close = () => {
    isDone.current = true
    dialog.current?.close()
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      closedby={isStaying ? "none" : undefined}
      // Browsers without `closedby` close it on Escape, and let a page prevent that only once in a row.
      onClose={() => (isStaying && !isDone.current ? dialog.current?.showModal() : onClose())}
    >
      <div class="stack">
        <h3 id={titleId}>{title}</h3>
        {children(close, action)}
      </div>
    </dialog>
  )
}

/** Closes the dialog, unless its action runs. */
export const Leave = ({
  busy,
  children,
  onLeave,
}: {
  readonly busy: boolean
  readonly onLeave: () => void
  readonly children: string
}) => (
  <button type="button" aria-disabled={busy} onClick={busy ? undefined : onLeave}>
    {children}
  </button>
)

/** Asks before `act`. `onClose` gets whether the action was done. */
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
  return (
    <Dialog title={title} onClose={() => onClose(done.current)}>
      {(close, { busy, failure, run }) => (
        <>
          <p>{children}</p>
          {failure !== undefined && <Problem failure={failure} />}
          <div class="row end">
            <Leave busy={busy} onLeave={close}>
              Keep it
            </Leave>
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
