import { Record } from "effect"

/** A row of buttons, one of which is pressed. */
export const Segments = <Name extends string>({
  choices,
  label,
  onChange,
  value,
}: {
  readonly label: string
  readonly choices: Readonly<Record<Name, string>>
  readonly value: Name
  readonly onChange: (name: Name) => void
}) => (
  <div class="segments" role="group" aria-label={label}>
    {Record.toEntries(choices).map(([name, text]) => (
      <button key={name} type="button" aria-pressed={value === name} onClick={() => onChange(name)}>
        {text}
      </button>
    ))}
  </div>
)
