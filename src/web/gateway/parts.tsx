/** Small things that many views show. */
import type { ComponentChildren } from "preact"
import type { Failure } from "./failure.ts"
import { age, moment } from "./format.ts"
import type { Look } from "./status.ts"

export const Badge = ({ look, what }: { readonly look: Look; readonly what?: string }) => (
  <span class={look.tone === "" ? "badge" : `badge ${look.tone}`}>
    <span aria-hidden="true">{look.mark}</span>
    {what !== undefined && <span class="visually-hidden">{what}: </span>}
    {look.word}
  </span>
)

/** Why something failed, what to do, and by what it can be found in the logs. */
export const Problem = ({
  failure,
  onRetry,
}: {
  readonly failure: Failure
  readonly onRetry?: (() => void) | undefined
}) => (
  <div class="note bad" role="alert">
    <p>
      <strong>{failure.title}</strong>
      {failure.detail !== undefined && <> {failure.detail}</>}
    </p>
    {failure.issues.length > 0 && (
      <ul class="issues">
        {failure.issues.map(({ message, path }) => (
          <li key={`${path} ${message}`}>
            <code>{path}</code>: {message}
          </li>
        ))}
      </ul>
    )}
    <p>{failure.advice}</p>
    {failure.traceId !== undefined && (
      <p class="small">
        Trace id <code>{failure.traceId}</code>
      </p>
    )}
    {onRetry !== undefined && (
      <p>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </p>
    )}
  </div>
)

/** Shown until the first answer is there; late, so that quick answers do not flicker. */
export const Loading = ({ what }: { readonly what: string }) => <p class="muted loading">Loading {what}…</p>

/** What could be here, and how to get it. */
export const Empty = ({ children, title }: { readonly title: string; readonly children: ComponentChildren }) => (
  <div class="card empty">
    <p>
      <strong>{title}</strong>
    </p>
    <p class="muted">{children}</p>
  </div>
)

export const Ago = ({ now, time }: { readonly time: string; readonly now: number }) => (
  <time dateTime={time} title={moment(time)}>
    {age(time, now)}
  </time>
)

/** A wide table scrolls in a box of its own, also by keyboard. */
export const Scroll = ({ children, label }: { readonly label: string; readonly children: ComponentChildren }) => (
  <div class="scroll" role="region" aria-label={label} tabIndex={0}>
    {children}
  </div>
)

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
