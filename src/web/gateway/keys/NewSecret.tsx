import type { NewKey } from "../../../client/gateway/GatewayKeys.ts"
import { CopyableId } from "../../shared/Copy.tsx"
import { Dialog } from "../Dialog.tsx"

/** Shows a new key's secret until the user has stored it. No other place has the secret. */
export const NewSecret = ({ created, onDone }: { readonly created: NewKey; readonly onDone: () => void }) => (
  <Dialog title={`The key of ${created.name}`} stays onClose={onDone}>
    {(close) => (
      <>
        <p>
          Store it now: it is shown only this once. Its holder sends it as a bearer token, or puts it into{" "}
          <code>SEALGATE_TOKEN</code>.
        </p>
        <p class="note">
          <CopyableId id={created.key} what="key" />
        </p>
        <div class="row end">
          <button type="button" class="primary" onClick={close}>
            I stored it
          </button>
        </div>
      </>
    )}
  </Dialog>
)
