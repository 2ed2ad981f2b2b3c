import { Mode, modeOf } from "../../../domain/jobs/modes.ts"
import { Effort } from "../../../domain/jobs/modes/description.ts"
import { Field, fieldProps } from "../../shared/Field.tsx"

export const ModeChoice = ({
  legend,
  name,
  onChange,
  value,
}: {
  readonly legend: string
  /** Of the radio buttons; different for every choice on a page. */
  readonly name: string
  readonly value: Mode
  readonly onChange: (mode: Mode) => void
}) => (
  <fieldset class="field">
    <legend>{legend}</legend>
    <div class="columns">
      {Mode.literals.map((mode) => (
        <label key={mode} class="choice">
          <input type="radio" name={name} value={mode} checked={value === mode} onChange={() => onChange(mode)} />
          <span>
            {modeOf(mode).label}
            <span class="small muted">{modeOf(mode).hint}</span>
          </span>
        </label>
      ))}
    </div>
  </fieldset>
)

const isEffort = (value: string): value is Effort => Effort.literals.some((known) => known === value)

export const EffortChoice = ({
  id,
  onChange,
  value,
}: {
  readonly id: string
  readonly value: Effort
  readonly onChange: (effort: Effort) => void
}) => (
  <Field id={id} label="Effort" hint="More of it takes more calls, and settles more." mistake={undefined}>
    <select
      class="short"
      value={value}
      onChange={({ currentTarget }) => isEffort(currentTarget.value) && onChange(currentTarget.value)}
      {...fieldProps(id, undefined)}
    >
      {Effort.literals.map((effort) => (
        <option key={effort} value={effort}>
          {effort}
        </option>
      ))}
    </select>
  </Field>
)
