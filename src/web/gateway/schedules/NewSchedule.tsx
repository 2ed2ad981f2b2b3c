import { useRef, useState } from "preact/hooks"
import { SelectField, TextField } from "../../shared/Field.tsx"
import { Dialog, Leave } from "../Dialog.tsx"
import { useSession } from "../session/SessionContext.ts"
import type { Action } from "../useAction.ts"
import type { Mistakes } from "../checkedForm.ts"
import { useForm } from "../useForm.ts"
import { useLoad } from "../useLoad.ts"
import { Problem } from "../View.tsx"

const TIMES = "Minute, hour, day, month and weekday: 0 7 * * 1-5 is seven on weekdays."
const TEXTS = [
  { name: "cron", label: "Times", hint: TIMES },
  { name: "zone", label: "Time zone", hint: "Such as Europe/Oslo." },
] as const

const NEW = { agent: "", task: "", cron: "0 7 * * 1-5", zone: Intl.DateTimeFormat().resolvedOptions().timeZone }
type Fields = typeof NEW

/** The schedule of the fields, or the mistakes in them. The gateway checks the times. */
const checked = ({ agent, cron, task, zone }: Fields) => {
  const mistakes: Mistakes<keyof Fields> = {
    ...(agent === "" && { agent: "Choose the agent that gets the task." }),
    ...(task.trim() === "" && { task: "Write the task." }),
  }
  return Object.keys(mistakes).length > 0
    ? { mistakes }
    : { value: { agent_id: agent, cron: cron.trim(), time_zone: zone.trim(), request: { task } } }
}

const ScheduleForm = ({
  action: { busy, failure, run },
  onCancel,
  onMade,
}: {
  readonly action: Action
  readonly onCancel: () => void
  readonly onMade: () => void
}) => {
  const { gateway } = useSession()
  const { value: agents } = useLoad((signal) => gateway.agents.list({ limit: 100, signal }), [gateway])
  const [fields, setFields] = useState(NEW)
  const { form, mistakes, submit } = useForm(
    () => checked(fields),
    (plan) => run(() => gateway.schedules.create(plan), onMade),
  )
  const props = (name: keyof Fields) => ({ id: `schedule-${name}`, mistake: mistakes[name], value: fields[name] })
  const setterOf = (name: keyof Fields) => (text: string) => setFields((known) => ({ ...known, [name]: text }))

  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      <SelectField
        {...props("agent")}
        label="Agent"
        options={[
          ["", agents === undefined ? "Loading…" : "Choose one"],
          ...(agents?.items ?? []).map(({ id, name }) => [id, name] as const),
        ]}
        onChange={setterOf("agent")}
      />
      <TextField {...props("task")} label="Task" rows={4} onText={setterOf("task")} />
      <div class="columns">
        {TEXTS.map(({ name, ...text }) => (
          <TextField key={name} {...props(name)} {...text} onText={setterOf(name)} />
        ))}
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row end">
        <Leave busy={busy} onLeave={onCancel}>
          Cancel
        </Leave>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Making…" : "Make schedule"}
        </button>
      </div>
    </form>
  )
}

export const NewSchedule = ({ onClose }: { readonly onClose: (made: boolean) => void }) => {
  const { announce } = useSession()
  const made = useRef(false)
  return (
    <Dialog title="New schedule" onClose={() => onClose(made.current)}>
      {(close, action) => (
        <ScheduleForm
          action={action}
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
