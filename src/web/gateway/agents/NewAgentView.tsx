import { useRef, useState } from "preact/hooks"
import { type Mode, MODES } from "../../../domain/jobs/modes.ts"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { hrefOf } from "../route.ts"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { Problem, View } from "../View.tsx"
import { type AgentFields, checkAgent, NEW_AGENT } from "./forms.ts"
import { EffortChoice, ModeChoice } from "./ModeChoice.tsx"

type TextFields = Exclude<keyof AgentFields, "mode" | "effort">

const ROUNDS = MODES.adversarial.option

export const NewAgentView = () => {
  const { announce, gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const [fields, setFields] = useState(NEW_AGENT)
  const [mistakes, setMistakes] = useState<Partial<Record<keyof AgentFields, string>>>({})
  const { busy, failure, run } = useAction()

  const submit = (event: Event) => {
    event.preventDefault()
    const checked = checkAgent(fields)
    setMistakes(checked.ok ? {} : checked.mistakes)
    if (!checked.ok) return form.current !== null && focusMistake(form.current)
    run(
      () => gateway.agents.create(checked.value),
      (agent) => {
        announce(`${agent.name} was made.`)
        location.hash = hrefOf({ view: "agent", id: agent.id })
      },
    )
  }
  /** What a text field has in common with every other. */
  const text = (name: TextFields) => ({
    ...fieldProps(`agent-${name}`, mistakes[name]),
    value: fields[name],
    autocomplete: "off",
    onInput: (event: { readonly currentTarget: { readonly value: string } }) => {
      const { value } = event.currentTarget
      setFields((known) => ({ ...known, [name]: value }))
    },
  })
  const field = (name: TextFields, label: string, hint: string) => ({
    id: `agent-${name}`,
    label,
    hint,
    mistake: mistakes[name],
  })

  return (
    <View title="New agent">
      <form ref={form} class="card stack narrow" noValidate onSubmit={submit}>
        <Field {...field("name", "Name", "What you call it; others may have the same.")}>
          <input type="text" required {...text("name")} />
        </Field>
        <Field {...field("role", "Role (optional)", "Who it is, such as: a careful reviewer of contracts.")}>
          <input type="text" {...text("role")} />
        </Field>
        <Field {...field("instructions", "Instructions (optional)", "What it keeps to in every task.")}>
          <textarea rows={4} {...text("instructions")} />
        </Field>
        <ModeChoice
          name="agent-mode"
          legend="How it answers, unless a task says otherwise"
          value={fields.mode}
          onChange={(mode: Mode) => setFields((known) => ({ ...known, mode }))}
        />
        <EffortChoice
          id="agent-effort"
          value={fields.effort}
          onChange={(effort) => setFields((known) => ({ ...known, effort }))}
        />
        <fieldset class="stack">
          <legend>Limits of one job</legend>
          <div class="columns">
            <Field {...field("rounds", "Rounds of debate", `${ROUNDS.minimum} to ${ROUNDS.maximum}`)}>
              <input type="text" inputMode="numeric" {...text("rounds")} />
            </Field>
            <Field {...field("timeout", "Working time, seconds", "Waiting does not count.")}>
              <input type="text" inputMode="numeric" {...text("timeout")} />
            </Field>
            <Field
              {...field(
                "cost",
                "Cost, US dollars (optional)",
                "Such as 0.50; models without a price are then left out.",
              )}
            >
              <input type="text" inputMode="decimal" {...text("cost")} />
            </Field>
            <Field {...field("tokens", "Tokens (optional)", "In and out together.")}>
              <input type="text" inputMode="numeric" {...text("tokens")} />
            </Field>
            <Field {...field("calls", "Calls of models (optional)", "Those that failed count.")}>
              <input type="text" inputMode="numeric" {...text("calls")} />
            </Field>
          </div>
        </fieldset>
        {failure !== undefined && <Problem failure={failure} />}
        <div class="row">
          <button type="submit" class="primary" aria-disabled={busy}>
            {busy ? "Creating…" : "Create agent"}
          </button>
          <a class="button" href={hrefOf({ view: "agents" })}>
            Cancel
          </a>
        </div>
      </form>
    </View>
  )
}
