import type { ComponentChildren } from "preact"

interface FieldProps {
  /** Id of the control; its description has the id `id`-hint. */
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly mistake?: string | undefined
}

export const Field = ({
  children,
  hint,
  id,
  label,
  mistake,
}: FieldProps & { readonly children: ComponentChildren }) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    <p id={`${id}-hint`} class={mistake === undefined ? "small muted" : "small mistake"}>
      {mistake ?? hint}
    </p>
  </div>
)

/** Attributes that connect a control to its {@link Field}. */
export const fieldProps = (id: string, isWrong: boolean) => ({
  id,
  "aria-describedby": `${id}-hint`,
  "aria-invalid": isWrong,
})

/** Focuses the first field of a form with a mistake, after the next render. */
export const focusMistake = (form: HTMLFormElement | null): void => {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
}

interface TextFieldProps extends FieldProps {
  readonly value: string
  readonly onText: (text: string) => void
  readonly inputMode?: "text" | "numeric" | "decimal"
  readonly required?: boolean
  readonly spellcheck?: boolean
  /** Height in lines, if the text may have several. */
  readonly rows?: number
  /** Whether the field has a mistake. Default: whether one is shown. */
  readonly isWrong?: boolean
}

export const TextField = ({
  isWrong,
  inputMode,
  onText,
  required,
  rows,
  spellcheck,
  value,
  ...field
}: TextFieldProps) => {
  const props = {
    ...fieldProps(field.id, isWrong ?? field.mistake !== undefined),
    autocomplete: "off",
    required,
    spellcheck,
    value,
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) => onText(currentTarget.value),
  }
  return (
    <Field {...field}>
      {rows === undefined ? (
        <input type="text" inputMode={inputMode} {...props} />
      ) : (
        <textarea rows={rows} {...props} />
      )}
    </Field>
  )
}

interface SelectFieldProps<Value extends string> extends FieldProps {
  readonly value: Value
  readonly options: ReadonlyArray<readonly [value: Value, text: string]>
  readonly onChange: (value: Value) => void
  /** Whether the field is only as wide as its longest option. */
  readonly short?: boolean
}

export const SelectField = <Value extends string>({
  onChange,
  options,
  short = false,
  value,
  ...field
}: SelectFieldProps<Value>) => (
  <Field {...field}>
    <select
      class={short ? "short" : undefined}
      {...fieldProps(field.id, field.mistake !== undefined)}
      value={value}
      onChange={({ currentTarget }) => {
        const chosen = options.find(([known]) => known === currentTarget.value)
        if (chosen !== undefined) onChange(chosen[0])
      }}
    >
      {options.map(([known, text]) => (
        <option key={known} value={known}>
          {text}
        </option>
      ))}
    </select>
  </Field>
)
