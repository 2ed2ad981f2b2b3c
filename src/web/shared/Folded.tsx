import { excerpt } from "./format.ts"

/** Length of what a folded text shows, in characters. */
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
