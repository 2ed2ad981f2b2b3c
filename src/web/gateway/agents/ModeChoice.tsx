import type { Mode } from "../../../domain/agent.ts"

const MODES: ReadonlyArray<{ readonly mode: Mode; readonly label: string; readonly hint: string }> = [
  {
    mode: "adversarial",
    label: "Adversarial",
    hint: "A critic attacks the answer, it is revised or defended, a judge decides.",
  },
  {
    mode: "verified",
    label: "Verified",
    hint: "The answer is compared with independent ones and checked by questions.",
  },
]

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
      {MODES.map(({ hint, label, mode }) => (
        <label key={mode} class="choice">
          <input type="radio" name={name} value={mode} checked={value === mode} onChange={() => onChange(mode)} />
          <span>
            {label}
            <span class="small muted">{hint}</span>
          </span>
        </label>
      ))}
    </div>
  </fieldset>
)
