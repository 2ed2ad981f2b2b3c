import type { ComponentChildren } from "preact"

/** A field of a form with its name, what it is for, and what is wrong with it. */
export const Field = ({
  children,
  hint,
  id,
  label,
  mistake,
}: {
  /** Of the control; its description is `id`-hint. */
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

/** What ties a control to its {@link Field}. */
export const fieldProps = (id: string, mistake: string | undefined) => ({
  id,
  "aria-describedby": `${id}-hint`,
  "aria-invalid": mistake !== undefined,
})

/** Puts the focus on the first field that has a mistake, once it is marked. */
export const focusMistake = (form: HTMLFormElement): void => {
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
}
