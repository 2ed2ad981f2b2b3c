import { useRef, useState } from "preact/hooks"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { KeyForm } from "./KeyForm.tsx"
import { changeOf, fieldsOf } from "./keyForm.ts"

/** Changes a key. `onClose` gets whether that was done. */
export const EditKey = ({
  item,
  onClose,
}: {
  readonly item: GatewayKey
  readonly onClose: (changed: boolean) => void
}) => {
  const { announce, gateway } = useSession()
  const [given] = useState(() => fieldsOf(item, Date.now()))
  const changed = useRef(false)
  return (
    <Dialog title={`Change ${item.name}`} onClose={() => onClose(changed.current)}>
      {(close) => (
        <KeyForm
          given={given}
          verb="Save"
          busyText="Saving…"
          save={(settings, now) => gateway.keys.update(item.id, changeOf(given, settings, now))}
          onCancel={close}
          onSaved={({ name }) => {
            announce(`The key of ${name} was changed.`)
            changed.current = true
            close()
          }}
        />
      )}
    </Dialog>
  )
}
