import { BuiltInMode, isBuiltIn, type Mode, modeOf } from "../../../domain/jobs/modes.ts"
import { Effort } from "../../../domain/jobs/modes/description.ts"
import { useState } from "preact/hooks"
import { SelectField } from "../../shared/Field.tsx"

export const ModeChoice = ({
  legend,
  name,
  onChange,
  value,
}: {
  readonly legend: string
  /** Name of the radio buttons, unique on the page. */
  readonly name: string
  readonly value: Mode
  readonly onChange: (mode: Mode) => void
}) => {
  // An agent's own mode remains a choice after another was chosen.
  const [first] = useState(value)
  return (
    <fieldset class="field">
      <legend>{legend}</legend>
      <div class="columns">
        {[...BuiltInMode.literals, ...(isBuiltIn(first) ? [] : [first])].map((mode) => (
          <label key={mode} class="choice">
            <input type="radio" name={name} value={mode} checked={value === mode} onChange={() => onChange(mode)} />
            <span>
              {modeOf(mode)?.label ?? mode}
              <span class="small muted">{modeOf(mode)?.hint ?? "A mode of the operator's program."}</span>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  )
}

export const EffortChoice = ({
  id,
  onChange,
  value,
}: {
  readonly id: string
  readonly value: Effort
  readonly onChange: (effort: Effort) => void
}) => (
  <SelectField
    id={id}
    label="Effort"
    hint="Higher effort makes more calls and leaves fewer answers undecided."
    short
    value={value}
    options={Effort.literals.map((effort) => [effort, effort])}
    onChange={onChange}
  />
)
