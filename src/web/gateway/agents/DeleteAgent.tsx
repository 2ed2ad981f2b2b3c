import { useLayoutEffect, useRef } from "preact/hooks"
import type { Agent } from "../../../client/gateway/GatewayClient.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"

/** Confirms deleting an agent. The modal dialog traps the focus, closes with Escape, and restores the focus. */
export const DeleteAgent = ({
  agent,
  onClose,
}: {
  readonly agent: Agent
  readonly onClose: (deleted: boolean) => void
}) => {
  const { gateway } = useSession()
  const dialog = useRef<HTMLDialogElement>(null)
  const deleted = useRef(false)
  const { busy, failure, run } = useAction()

  // In a layout effect, or the page behind would receive the next key.
  useLayoutEffect(() => dialog.current?.showModal(), [])

  const remove = () =>
    run(
      () => gateway.agents.remove(agent.id),
      () => {
        deleted.current = true
        dialog.current?.close()
      },
    )

  return (
    <dialog ref={dialog} aria-labelledby="delete-title" onClose={() => onClose(deleted.current)}>
      <div class="stack">
        <h3 id="delete-title">Delete {agent.name}?</h3>
        <p>It takes no more tasks. Its jobs stay readable. This cannot be undone.</p>
        {failure !== undefined && <Problem failure={failure} />}
        <div class="row end">
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep it
          </button>
          <button type="button" class="bad" aria-disabled={busy} onClick={remove}>
            {busy ? "Deleting…" : "Delete"}
          </button>
        </div>
      </div>
    </dialog>
  )
}
