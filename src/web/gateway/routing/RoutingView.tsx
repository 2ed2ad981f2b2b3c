import { useState } from "preact/hooks"
import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import { Strategy } from "../../../domain/routing/routing.ts"
import { SelectField, TextField } from "../../shared/Field.tsx"
import { useSession } from "../session/SessionContext.ts"
import { useAction } from "../useAction.ts"
import type { Mistakes } from "../checkedForm.ts"
import { useForm } from "../useForm.ts"
import { useLoad } from "../useLoad.ts"
import { Problem, Unloaded, View } from "../View.tsx"
import { changesOf } from "./changes.ts"
import { emptyTarget, fieldsOf, nameOf, type RoutingFields, settingsOf } from "./routingForm.ts"
import { Changes, PricesInForce } from "./RoutingTables.tsx"
import { TargetRow } from "./TargetRow.tsx"

const STRATEGIES: Readonly<Record<Strategy, string>> = {
  cost: "Tries the cheapest target first, by an estimate for each request.",
  latency: "Tries the target with the shortest time to first token first.",
  quality: "Tries the target with the highest quality first.",
  weighted: "Picks at random, in proportion to the weights.",
  fallback: "Tries the targets in the order below.",
  cascade: "Tries the cheapest target first, and the next if the answer is too uncertain.",
}

interface PartProps {
  readonly settings: RoutingSettings
  readonly fields: RoutingFields
  readonly mistakes: Mistakes<string>
  readonly change: (changed: Partial<RoutingFields>) => void
}

const StrategyFields = ({ change, fields, mistakes, settings }: PartProps) => {
  const names = [...new Set([...fields.targets.map(nameOf), nameOf(settings.baseline)])]
  return (
    <div class="card columns">
      <SelectField
        id="strategy"
        label="Strategy"
        hint={STRATEGIES[fields.strategy]}
        value={fields.strategy}
        options={Strategy.literals.map((strategy) => [strategy, strategy])}
        onChange={(strategy) => change({ strategy })}
      />
      <SelectField
        id="baseline"
        label="Baseline"
        hint="Savings are measured against this model's price."
        value={fields.baseline}
        options={names.map((name) => [name, name])}
        onChange={(baseline) => change({ baseline })}
      />
      {fields.strategy === "cascade" && (
        <TextField
          id="escalate"
          label="Escalate below"
          hint="Agreement or confidence, 0 to 1."
          inputMode="decimal"
          mistake={mistakes["escalateBelow"]}
          value={fields.escalateBelow}
          onText={(escalateBelow) => change({ escalateBelow })}
        />
      )}
    </div>
  )
}

const Targets = ({ change, fields: { strategy, targets }, mistakes, settings }: PartProps) => {
  const providers = [...new Set([...settings.targets, settings.baseline].map(({ provider }) => provider))]
  return (
    <>
      <h3>Targets</h3>
      <ol class="stack">
        {targets.map((target) => (
          <TargetRow
            key={target.key}
            target={target}
            strategy={strategy}
            providers={providers}
            effective={settings.effective_prices}
            mistakes={mistakes}
            onChange={(changed) =>
              change({ targets: targets.map((other) => (other.key === target.key ? changed : other)) })
            }
            onRemove={
              targets.length === 1
                ? undefined
                : () => change({ targets: targets.filter(({ key }) => key !== target.key) })
            }
          />
        ))}
      </ol>
      <div>
        <button
          type="button"
          onClick={() => change({ targets: [...targets, emptyTarget(targets, providers[0] ?? "")] })}
        >
          Add a target
        </button>
      </div>
    </>
  )
}

const Form = ({ onSaved, settings }: { readonly settings: RoutingSettings; readonly onSaved: () => void }) => {
  const { announce, gateway } = useSession()
  const [fields, setFields] = useState(() => fieldsOf(settings))
  const { busy, failure, run } = useAction()
  const { form, mistakes, submit } = useForm(
    () => settingsOf(fields, settings),
    (changed) =>
      run(
        () => gateway.routing.replaceConfig(changed, { ifVersion: settings.version }),
        ({ version }) => {
          announce(`Version ${version} is in force.`)
          onSaved()
        },
      ),
  )
  const part: PartProps = {
    settings,
    fields,
    mistakes,
    change: (changed) => setFields((known) => ({ ...known, ...changed })),
  }
  return (
    <form ref={form} class="stack" noValidate onSubmit={submit}>
      <StrategyFields {...part} />
      <Targets {...part} />
      <PricesInForce prices={settings.effective_prices} />
      <Changes changes={changesOf(fieldsOf(settings), fields)} />
      {failure !== undefined && <Problem failure={failure} />}
      <div class="row">
        <button type="submit" class="primary" aria-disabled={busy}>
          Save
        </button>
        <p class="small muted">
          {settings.version === 0 ? "The default is in force." : `Version ${settings.version} is in force.`} Changes
          apply within a second.
        </p>
      </div>
    </form>
  )
}

export const RoutingView = () => {
  const { gateway, owner } = useSession()
  const loaded = useLoad((signal) => gateway.routing.config({ signal }), [gateway])
  const { value } = loaded
  return (
    <View title="Routing">
      {owner.admin ? (
        <Unloaded loaded={loaded} what="the routing" />
      ) : (
        <p class="note">Only administrators can see and change the routing.</p>
      )}
      {value !== undefined && <Form key={value.version} settings={value} onSaved={loaded.reload} />}
    </View>
  )
}
