import type { ComponentChildren } from "preact"

/** Box in which a wide table scrolls, also by keyboard. */
export const Scroll = ({ children, label }: { readonly label: string; readonly children: ComponentChildren }) => (
  <div class="scroll" role="region" aria-label={label} tabIndex={0}>
    {children}
  </div>
)
