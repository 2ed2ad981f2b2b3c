/** Colour and wording of what the command prints. Colour only on a terminal, and never when NO_COLOR is set. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]

// `styleText` looks at the stream and at NO_COLOR, FORCE_COLOR and NODE_DISABLE_COLORS itself.
const styled =
  (style: Style) =>
  (text: string): string =>
    styleText(style, text, { stream: process.stdout })

export const bold = styled("bold")
export const dim = styled("dim")
export const green = styled("green")
export const red = styled("red")
export const yellow = styled("yellow")
