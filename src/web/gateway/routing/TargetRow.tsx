import type { RoutingSettings } from "../../../client/gateway/GatewayClient.ts"
import type { Strategy } from "../../../domain/routing/routing.ts"
import { SelectField, TextField } from "../../shared/Field.tsx"
import type { Mistakes } from "../checkedForm.ts"
import { nameOf, type TargetFields } from "./routingForm.ts"

interface TargetRowProps {
  readonly target: TargetFields
  readonly strategy: Strategy
  readonly providers: ReadonlyArray<string>
  readonly effective: RoutingSettings["effective_prices"]
  readonly mistakes: Mistakes<string>
  readonly onChange: (target: TargetFields) => void
  /** Absent for the last remaining target. */
  readonly onRemove: (() => void) | undefined
}

const MICRO = 1_000_000

export const TargetRow = ({ effective, mistakes, onChange, onRemove, providers, strategy, target }: TargetRowProps) => {
  const known = effective.find((price) => nameOf(price) === nameOf(target))?.prices
  const field = (name: Exclude<keyof TargetFields, "key" | "provider">, label: string, hint = "") => (
    <TextField
      id={`target-${target.key}-${name}`}
      label={label}
      hint={hint}
      inputMode={name === "model" ? "text" : "decimal"}
      spellcheck={false}
      mistake={mistakes[`${target.key}.${name}`]}
      value={target[name]}
      onText={(text) => onChange({ ...target, [name]: text })}
    />
  )
  const price = (value: number | undefined) =>
    value === undefined ? "No price is known." : `${value / MICRO} if empty.`
  return (
    <li class="card stack tight">
      <div class="view-head">
        <h4 class="plain">{target.model === "" ? "New target" : nameOf(target)}</h4>
        <button type="button" class="quiet" aria-disabled={onRemove === undefined} onClick={onRemove}>
          Remove<span class="visually-hidden"> {nameOf(target)}</span>
        </button>
      </div>
      <div class="columns thin">
        <SelectField
          id={`target-${target.key}-provider`}
          label="Provider"
          value={target.provider}
          options={providers.map((provider) => [provider, provider])}
          onChange={(provider) => onChange({ ...target, provider })}
        />
        {field("model", "Model")}
        {field("context", "Context, tokens")}
        {strategy === "weighted" && field("weight", "Weight", "1 if empty.")}
        {strategy === "quality" && field("quality", "Quality", "0 to 1.")}
        {field("input", "Input, $ per million", price(known?.input))}
        {field("output", "Output, $ per million", price(known?.output))}
        {field(
          "cached",
          "Cached, $ per million",
          target.input === "" ? price(known?.cached_input) : "Same as input if empty.",
        )}
      </div>
    </li>
  )
}
