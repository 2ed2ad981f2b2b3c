import { useRef, useState } from "preact/hooks"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { Dialog } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { useLoad } from "../useLoad.ts"
import { Problem } from "../View.tsx"

const TIMES = "Minute, hour, day, month and weekday: 0 7 * * 1-5 is seven on weekdays."
const TEXTS = [
  { name: "cron", label: "Times", hint: TIMES },
  { name: "zone", label: "Time zone", hint: "Such as Europe/Oslo." },
] as const

const NEW = { agent: "", task: "", cron: "0 7 * * 1-5", zone: Intl.DateTimeFormat().resolvedOptions().timeZone }
type Fields = typeof NEW

/** Mistakes by field. The gateway checks the times. */
const mistakesIn = ({ agent, task }: Fields): Partial<Fields> => ({
  ...(agent === "" && { agent: "Choose the agent that gets the task." }),
  ...(task.trim() === "" && { task: "Write the task." }),
})

const ScheduleForm = ({ onCancel, onMade }: { readonly onCancel: () => void; readonly onMade: () => void }) => {
  const { gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const { value: agents } = useLoad((signal) => gateway.agents.list({ limit: 100, signal }), [gateway])
  const [fields, setFields] = useState(NEW)
  const [mistakes, setMistakes] = useState<Partial<Fields>>({})
  const { busy, failure, run } = useAction()
  const control = (name: keyof Fields) => ({
    ...fieldProps(`schedule-${name}`, mistakes[name]),
    value: fields[name],
    onInput: ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }) =>
      setFields((known) => ({ ...known, [name]: value })),
  })
  const submit = (event: Event) => {
    event.preventDefault()
    const found = mistakesIn(fields)
    setMistakes(found)
    if (Object.keys(found).length > 0) return form.current !== null && focusMistake(form.current)
    const { agent, cron, task, zone } = fields
    const plan = { agent_id: agent, cron: cron.trim(), time_zone: zone.trim(), request: { task } }
    run(() => gateway.schedules.create(plan), onMade)
  }

  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      <Field id="schedule-agent" label="Agent" mistake={mistakes.agent}>
        <select {...control("agent")}>
          <option value="">{agents === undefined ? "Loading…" : "Choose one"}</option>
          {agents?.items.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      <Field id="schedule-task" label="Task" mistake={mistakes.task}>
        <textarea rows={4} {...control("task")} />
      </Field>
      <div class="columns">
        {TEXTS.map(({ hint, label, name }) => (
          <Field key={name} id={`schedule-${name}`} label={label} hint={hint} mistake={mistakes[name]}>
            <input type="text" autocomplete="off" {...control(name)} />
          </Field>
        ))}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row end">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Making…" : "Make schedule"}
        </button>
      </div>
    </form>
  )
}

/** Asks for a new schedule. */
export const NewSchedule = ({ onClose }: { readonly onClose: (made: boolean) => void }) => {
  const { announce } = useSession()
  const made = useRef(false)
  return (
    <Dialog title="New schedule" onClose={() => onClose(made.current)}>
      {(close) => (
        <ScheduleForm
          onCancel={close}
          onMade={() => {
            made.current = true
            announce("The schedule was made.")
            close()
          }}
        />
      )}
    </Dialog>
  )
}
