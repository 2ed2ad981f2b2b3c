import { useRef, useState } from "preact/hooks"
import type { GatewayKey } from "../../../client/gateway/GatewayKeys.ts"
import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { KeyForm } from "./KeyForm.tsx"
import { checkChange, fieldsOf } from "./keyForm.ts"

/** Changes a key. `onClose` gets whether the key was changed. */
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
      {(close, action) => (
        <KeyForm
          action={action}
          given={given}
          verb="Save"
          busyText="Saving…"
          check={(fields, now) => checkChange(item, given, fields, now)}
          save={async (change) => {
            if (Object.keys(change).length === 0) return
            const { name } = await gateway.keys.update(item.id, change)
            announce(`The key of ${name} was changed.`)
            changed.current = true
          }}
          onCancel={close}
          onSaved={close}
        />
      )}
    </Dialog>
  )
}
