import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { KeyForm } from "./KeyForm.tsx"
import { checkKey, NEW_KEY } from "./keyForm.ts"

interface NewKeyProps {
  readonly onClose: () => void
  /** Called even if the page was left before the key was created. */
  readonly onCreated: () => void
}

/** Creates a key, whose secret the session then shows. */
export const NewKey = ({ onClose, onCreated }: NewKeyProps) => {
  const { announce, gateway, showKey } = useSession()
  return (
    <Dialog title="New key" onClose={onClose}>
      {(close, action) => (
        <KeyForm
          action={action}
          given={NEW_KEY}
          check={checkKey}
          verb="Create key"
          busyText="Creating…"
          save={async (settings) => {
            const created = await gateway.keys.create(settings)
            announce(`The key of ${created.name} was created. It is shown once.`)
            // Closes first, so that the focus returns to the button that opened the form.
            close()
            showKey(created)
            onCreated()
          }}
          onCancel={close}
          onSaved={close}
        />
      )}
    </Dialog>
  )
}
