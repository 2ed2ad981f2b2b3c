/** Text in lines and columns that fit a terminal. */

export const DEFAULT_WIDTH = 80
const MIN_WIDTH = 40
/** Longer lines are hard to read, however wide the terminal is. */
const MAX_WIDTH = 100

/** The terminal's width, else the shell's COLUMNS, else 80. Read here, because help is printed before settings are. */
export const pageWidth = (
  terminal: number | undefined = process.stdout.columns,
  variable: string | undefined = process.env["COLUMNS"],
): number => {
  const width = terminal ?? Number(variable)
  return Number.isInteger(width) && width > 0 ? Math.min(Math.max(width, MIN_WIDTH), MAX_WIDTH) : DEFAULT_WIDTH
}

const wrapParagraph = (paragraph: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of paragraph.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}

/** Wraps text to lines of at most `width`, except for longer words. Blank lines separate paragraphs. */
export const wrap = (text: string, width: number): ReadonlyArray<string> =>
  text
    .trim()
    .split(/\n\s*\n/)
    .flatMap((paragraph, i) => [...(i === 0 ? [] : [""]), ...wrapParagraph(paragraph.trim(), width)])

export const indented = (lines: ReadonlyArray<string>, by: number): string =>
  lines.map((line) => (line === "" ? "" : " ".repeat(by) + line)).join("\n")

export interface Row {
  readonly name: string
  readonly text: string
}

const INDENT = 2
const GAP = 2
/** Longer names take a separate line. */
const MAX_NAME = 28

/** Lays out names on the left and wrapped texts on the right. `paint` colours names. */
export const columns = (
  rows: ReadonlyArray<Row>,
  width: number,
  paint: (name: string) => string = (name) => name,
): string => {
  const fitting = rows.map(({ name }) => name.length).filter((length) => length <= MAX_NAME)
  const column = Math.max(0, ...fitting)
  const left = INDENT + column + GAP
  return rows
    .map(({ name, text }) => {
      const body = indented(wrap(text, width - left), left)
      return name.length > column
        ? `${" ".repeat(INDENT)}${paint(name)}\n${body}`
        : `${" ".repeat(INDENT)}${paint(name)}${" ".repeat(column - name.length)}${body.slice(INDENT + column)}`
    })
    .join("\n")
}
