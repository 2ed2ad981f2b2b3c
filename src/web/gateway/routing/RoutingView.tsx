import { useRef, useState } from "preact/hooks"
import type { RoutingSettings, RoutingTrial } from "../../../client/gateway/GatewayClient.ts"
import { type RoutingSettingsInput, Strategy } from "../../../domain/routing/routing.ts"
import { Field, fieldProps, focusMistake } from "../../shared/Field.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import { useLoad } from "../useLoad.ts"
import { Loading, Problem, View } from "../View.tsx"
import { fieldsOf, type Mistakes, nameOf, settingsOf } from "./routingForm.ts"
import { TargetRow } from "./TargetRow.tsx"
import { TrialReport } from "./TrialReport.tsx"

const STRATEGIES: Readonly<Record<Strategy, string>> = {
  cost: "the cheapest first, by the estimate of each request",
  latency: "the one that begins to answer soonest",
  quality: "the highest quality first",
  weighted: "drawn at random, in proportion to the weights",
  fallback: "in the order below",
  cascade: "the cheapest first, the next one where the answer is not sure enough",
}

const isStrategy = (value: string): value is Strategy => Object.hasOwn(STRATEGIES, value)

const Form = ({ onSaved, settings }: { readonly settings: RoutingSettings; readonly onSaved: () => void }) => {
  const { announce, gateway } = useSession()
  const form = useRef<HTMLFormElement>(null)
  const [fields, setFields] = useState(() => fieldsOf(settings))
  const [mistakes, setMistakes] = useState<Mistakes>({})
  const [trial, setTrial] = useState<RoutingTrial>()
  const { busy, failure, run } = useAction()
  const change = (changed: Partial<typeof fields>) => {
    // What was tried is not what is there now.
    setTrial(undefined)
    setFields((known) => ({ ...known, ...changed }))
  }
  const withSettings = (act: (input: RoutingSettingsInput) => void) => {
    const read = settingsOf(fields, settings)
    setMistakes(read.ok ? {} : read.mistakes)
    if (read.ok) act(read.value)
    else if (form.current !== null) focusMistake(form.current)
  }
  const tryIt = () =>
    withSettings((input) =>
      run(
        () => gateway.routing.trial(input),
        (report) => {
          setTrial(report)
          announce("Tried on the last 24 hours.")
        },
      ),
    )
  const save = () =>
    withSettings((input) =>
      run(
        () => gateway.routing.replaceConfig(input, { ifVersion: settings.version }),
        ({ version }) => {
          announce(`Version ${version} is in force.`)
          onSaved()
        },
      ),
    )
  const providers = [...new Set([...settings.targets, settings.baseline].map(({ provider }) => provider))]
  const names = [...new Set([...fields.targets.map(nameOf), nameOf(settings.baseline)])]
  return (
    <form
      ref={form}
      class="stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        tryIt()
      }}
    >
      <section class="card columns" aria-label="Strategy">
        <Field id="strategy" label="Who is tried first" hint={STRATEGIES[fields.strategy]} mistake={undefined}>
          <select
            value={fields.strategy}
            onChange={({ currentTarget: { value } }) => isStrategy(value) && change({ strategy: value })}
            {...fieldProps("strategy", undefined)}
          >
            {Strategy.literals.map((strategy) => (
              <option key={strategy} value={strategy}>
                {strategy}
              </option>
            ))}
          </select>
        </Field>
        <Field id="baseline" label="Compared with" hint="What savings are measured against." mistake={undefined}>
          <select
            value={fields.baseline}
            onChange={({ currentTarget: { value } }) => change({ baseline: value })}
            {...fieldProps("baseline", undefined)}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        {fields.strategy === "cascade" && (
          <Field
            id="escalate"
            label="Ask the next one below"
            hint="Agreement or confidence, 0 to 1."
            mistake={mistakes["escalateBelow"]}
          >
            <input
              type="text"
              inputMode="decimal"
              value={fields.escalateBelow}
              onInput={({ currentTarget: { value } }) => change({ escalateBelow: value })}
              {...fieldProps("escalate", mistakes["escalateBelow"])}
            />
          </Field>
        )}
      </section>
      <h3>Targets</h3>
      <ol class="stack">
        {fields.targets.map((target) => (
          <TargetRow
            key={target.key}
            target={target}
            strategy={fields.strategy}
            providers={providers}
            effective={settings.effective_prices}
            mistakes={mistakes}
            onChange={(changed) =>
              change({ targets: fields.targets.map((other) => (other.key === target.key ? changed : other)) })
            }
            onRemove={
              fields.targets.length === 1
                ? undefined
                : () => change({ targets: fields.targets.filter(({ key }) => key !== target.key) })
            }
          />
        ))}
      </ol>
      <div>
        <button
          type="button"
          onClick={() => {
            const key = Math.max(...fields.targets.map(({ key }) => key)) + 1
            const empty = { model: "", context: "", weight: "", quality: "", input: "", output: "", cached: "" }
            change({ targets: [...fields.targets, { key, provider: providers[0] ?? "", ...empty }] })
          }}
        >
          Add a target
        </button>
      </div>
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row">
        <button type="submit" aria-disabled={busy}>
          Try it on the last 24 hours
        </button>
        <button type="button" class="primary" aria-disabled={busy} onClick={save}>
          Save
        </button>
        <p class="small muted">
          {settings.version === 0 ? "The default is in force." : `Version ${settings.version} is in force.`} A change
          holds from the next call on.
        </p>
      </div>
      {trial !== undefined && <TrialReport trial={trial} />}
    </form>
  )
}

/** Which model serves which call, for administrators. */
export const RoutingView = () => {
  const { gateway, owner } = useSession()
  const { failure, reload, value } = useLoad((signal) => gateway.routing.config({ signal }), [gateway])
  return (
    <View title="Routing">
      {!owner.admin && <p class="note">Only administrators see and change the routing.</p>}
      {owner.admin && failure !== undefined && <Problem failure={failure} onRetry={reload} />}
      {owner.admin && value === undefined && failure === undefined && <Loading what="the routing" />}
      {value !== undefined && <Form key={value.version} settings={value} onSaved={reload} />}
    </View>
  )
}
