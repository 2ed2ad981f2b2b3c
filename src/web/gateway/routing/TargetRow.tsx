import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import type { Strategy } from "../../../domain/routing/routing.ts"
import { Field, fieldProps } from "../../shared/Field.tsx"
import { type Mistakes, nameOf, type TargetFields } from "./routingForm.ts"

interface TargetRowProps {
  readonly target: TargetFields
  readonly strategy: Strategy
  readonly providers: ReadonlyArray<string>
  readonly effective: RoutingSettings["effective_prices"]
  readonly mistakes: Mistakes
  readonly onChange: (target: TargetFields) => void
  /** Absent for the only one. */
  readonly onRemove: (() => void) | undefined
}

const MICRO = 1_000_000

/** One model that may serve calls, with what the strategy looks at. */
export const TargetRow = ({ effective, mistakes, onChange, onRemove, providers, strategy, target }: TargetRowProps) => {
  const known = effective.find((price) => nameOf(price) === nameOf(target))?.prices
  const field = (name: Exclude<keyof TargetFields, "key" | "provider">, label: string, hint = "") => {
    const id = `target-${target.key}-${name}`
    const mistake = mistakes[`${target.key}.${name}`]
    return (
      <Field id={id} label={label} hint={hint} mistake={mistake}>
        <input
          type="text"
          inputMode={name === "model" ? "text" : "decimal"}
          autocomplete="off"
          spellcheck={false}
          value={target[name]}
          onInput={({ currentTarget: { value } }) => onChange({ ...target, [name]: value })}
          {...fieldProps(id, mistake)}
        />
      </Field>
    )
  }
  const price = (value: number | undefined) =>
    value === undefined ? "No price is known." : `${value / MICRO} if left empty.`
  return (
    <li class="card stack tight">
      <div class="view-head">
        <h4 class="plain">{target.model === "" ? "New target" : nameOf(target)}</h4>
        <button type="button" class="quiet" aria-disabled={onRemove === undefined} onClick={onRemove}>
          Remove<span class="visually-hidden"> {nameOf(target)}</span>
        </button>
      </div>
      <div class="columns thin">
        <Field id={`target-${target.key}-provider`} label="Provider" hint="" mistake={undefined}>
          <select
            value={target.provider}
            onChange={({ currentTarget: { value } }) => onChange({ ...target, provider: value })}
            {...fieldProps(`target-${target.key}-provider`, undefined)}
          >
            {providers.map((provider) => (
              <option key={provider} value={provider}>
                {provider}
              </option>
            ))}
          </select>
        </Field>
        {field("model", "Model")}
        {field("context", "Context, tokens")}
        {strategy === "weighted" && field("weight", "Weight", "1 if left empty.")}
        {strategy === "quality" && field("quality", "Quality", "0 to 1.")}
        {field("input", "In, $ per million", price(known?.input))}
        {field("output", "Out, $ per million", price(known?.output))}
        {field(
          "cached",
          "Cached, $ per million",
          target.input === "" ? price(known?.cached_input) : "As in, if left empty.",
        )}
      </div>
    </li>
  )
}
