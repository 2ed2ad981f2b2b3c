/** Colours output on a terminal, unless NO_COLOR is set. */
import { styleText } from "node:util"

type Style = Parameters<typeof styleText>[0]

// `styleText` checks the stream, NO_COLOR, FORCE_COLOR and NODE_DISABLE_COLORS.
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

/** For standard error, which may be a file while standard output is a terminal, or the reverse. */
export const dimOnStderr = styled("dim", () => process.stderr)
