/** Colour of what the command prints. Only on a terminal, and never when NO_COLOR is set. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]

// `styleText` looks at the stream and at NO_COLOR, FORCE_COLOR and NODE_DISABLE_COLORS itself.
const styled =
  (style: Style, stream: () => NodeJS.WritableStream) =>
  (text: string): string =>
    styleText(style, text, { stream: stream() })

const output = () => process.stdout

export const bold = styled("bold", output)
export const dim = styled("dim", output)
export const green = styled("green", output)
export const red = styled("red", output)
export const yellow = styled("yellow", output)

/** For standard error, which may be a file while standard output is a terminal, and the other way round. */
export const dimOnStderr = styled("dim", () => process.stderr)
