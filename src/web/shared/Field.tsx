import type { ComponentChildren } from "preact"

/** A form field with label, hint and mistake. */
export const Field = ({
  children,
  hint,
  id,
  label,
  mistake,
}: {
  /** Id of the control; its description has the id `id`-hint. */
  readonly id: string
  readonly label: string
  readonly hint?: string
  readonly mistake?: string | undefined
  readonly children: ComponentChildren
}) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    <p id={`${id}-hint`} class={mistake === undefined ? "small muted" : "small mistake"}>
      {mistake ?? hint}
    </p>
  </div>
)

/** Attributes that connect a control to its {@link Field}. */
export const fieldProps = (id: string, mistake: string | undefined) => ({
  id,
  "aria-describedby": `${id}-hint`,
  "aria-invalid": mistake !== undefined,
})

/** Focuses the first field with a mistake, after the next render. */
export const focusMistake = (form: HTMLFormElement): void => {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
}
