import type { ComponentChildren } from "preact"

/** A wide table scrolls in a box of its own, also by keyboard. */
export const Scroll = ({ children, label }: { readonly label: string; readonly children: ComponentChildren }) => (
  <div class="scroll" role="region" aria-label={label} tabIndex={0}>
    {children}
  </div>
)
