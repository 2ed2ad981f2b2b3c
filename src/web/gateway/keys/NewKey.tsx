import { useState } from "preact/hooks"
import type { NewKey as CreatedKey } from "../../../client/gateway/GatewayKeys.ts"
import { CopyableId } from "../../shared/Copy.tsx"
import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { KeyForm } from "./KeyForm.tsx"
import { checkKey, NEW_KEY } from "./keyForm.ts"

/** Shows a new key's secret, which only this dialog has. */
const Secret = ({ created, onDone }: { readonly created: CreatedKey; readonly onDone: () => void }) => (
  <>
    <p>
      Store it now: it is shown only this once. Its holder sends it as a bearer token, or puts it into{" "}
      <code>SEALGATE_TOKEN</code>.
    </p>
    <p class="note">
      <CopyableId id={created.key} what="key" />
    </p>
    <div class="row end">
      <button type="button" class="primary" onClick={onDone}>
        I stored it
      </button>
    </div>
  </>
)

/** Creates a key and shows its secret once. Escape does not close the dialog while it shows the secret. */
export const NewKey = ({ onClose }: { readonly onClose: (created: boolean) => void }) => {
  const { announce, gateway } = useSession()
  const [created, setCreated] = useState<CreatedKey>()
  return (
    <Dialog
      title={created === undefined ? "New key" : `The key of ${created.name}`}
      stays={created !== undefined}
      onClose={() => onClose(created !== undefined)}
    >
      {(close) =>
        created === undefined ? (
          <KeyForm
            given={NEW_KEY}
            check={checkKey}
            verb="Create key"
            busyText="Creating…"
            save={(settings) => gateway.keys.create(settings)}
            onCancel={close}
            onSaved={(key) => {
              announce(`The key of ${key.name} was created. It is shown once.`)
              setCreated(key)
            }}
          />
        ) : (
          <Secret created={created} onDone={close} />
        )
      }
    </Dialog>
  )
}
