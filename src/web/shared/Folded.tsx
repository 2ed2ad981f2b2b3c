import { excerpt } from "./format.ts"

/** Length of the visible part of a folded text, in characters. */
const EXCERPT = 300

/** A text as it was written, folded if long. */
export const Folded = ({ text }: { readonly text: string }) =>
  text.length <= EXCERPT ? (
    <span class="plain">{text}</span>
  ) : (
    <details>
      <summary class="excerpt">{excerpt(text, EXCERPT)}</summary>
      <span class="plain">{text}</span>
    </details>
  )
