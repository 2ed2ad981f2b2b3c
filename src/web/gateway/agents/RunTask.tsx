import { SecureRandom } from "effect/crypto"
import { useRef, useState } from "preact/hooks"
import type { Agent } from "../../../client/GatewayClient.ts"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem } from "../View.tsx"
import { checkTask, DEFAULT_SAMPLES, MAX_SAMPLES, type TaskFields } from "./forms.ts"
import { ModeChoice } from "./ModeChoice.tsx"

/** A task for an agent; leads to its job. */
export const RunTask = ({ agent }: { readonly agent: Agent }) => {
  const { gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const { max_rounds } = agent.limits
  const [fields, setFields] = useState<TaskFields>({
    task: "",
    mode: agent.default_mode,
    rounds: String(max_rounds),
    samples: String(DEFAULT_SAMPLES),
  })
  const [mistakes, setMistakes] = useState<Partial<Record<keyof TaskFields, string>>>({})
  const { busy, failure, run } = useAction()
  // Whoever runs the same task again after a lost answer gets the job that it may have become.
  const attempt = useRef<{ readonly body: string; readonly idempotencyKey: string }>(null)

  const submit = (event?: Event) => {
    event?.preventDefault()
    const checked = checkTask(fields, max_rounds)
    setMistakes(checked.ok ? {} : checked.mistakes)
    if (!checked.ok) return form.current !== null && focusMistake(form.current)
    const body = JSON.stringify(checked.value)
    if (attempt.current?.body !== body) attempt.current = { body, idempotencyKey: SecureRandom.uuidV4Unsafe() }
    const { idempotencyKey } = attempt.current
    run(
      () => gateway.agents.execute(agent.id, checked.value, { idempotencyKey }),
      (job) => {
        location.hash = hrefOf({ view: "job", id: job.id })
      },
    )
  }
  const change = (name: keyof TaskFields) => (event: { readonly currentTarget: { readonly value: string } }) => {
    const { value } = event.currentTarget
    setFields((known) => ({ ...known, [name]: value }))
  }
  const options = Array.from({ length: fields.mode === "adversarial" ? max_rounds : MAX_SAMPLES }, (_, i) => i + 1)
  const depth = fields.mode === "adversarial" ? "rounds" : "samples"

  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      <Field id="task" label="Task" hint="Ctrl+Enter runs it." mistake={mistakes.task}>
        <textarea
          rows={6}
          value={fields.task}
          onInput={change("task")}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event)
          }}
          required
          {...fieldProps("task", mistakes.task)}
        />
      </Field>
      <ModeChoice
        name="task-mode"
        legend="How to answer"
        value={fields.mode}
        onChange={(mode) => setFields((known) => ({ ...known, mode }))}
      />
      <Field
        id={depth}
        label={depth === "rounds" ? "Rounds of debate, at most" : "Independent samples"}
        hint="More of them cost more calls."
        mistake={mistakes[depth]}
      >
        <select class="short" value={fields[depth]} onChange={change(depth)} {...fieldProps(depth, mistakes[depth])}>
          {options.map((n) => (
            <option key={n} value={String(n)}>
              {n}
            </option>
          ))}
        </select>
      </Field>
      {failure !== undefined && <Problem failure={failure} />}
      <div>
        <button type="submit" class="primary" aria-disabled={busy}>
          {busy ? "Starting…" : "Run"}
        </button>
      </div>
    </form>
  )
}
