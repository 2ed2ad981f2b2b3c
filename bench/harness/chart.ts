/** Draws the CPU time per unit of each case as a bar chart in SVG. */
import type { Results } from "./results.ts"

const WIDTH = 760
const LABEL = 250
const BAR = 16
const ROW = 22
const HEADING = 34
const OWN = /^(sealgate|SQLite|Postgres$|SealedClient)/

const escaped = (text: string): string => text.replace(/&/g, "&amp;").replace(/</g, "&lt;")

const text = (x: number, y: number, content: string, more = ""): string =>
  `<text x="${x}" y="${y}"${more}>${escaped(content)}</text>`

/** Charts the given cases; each case has its own scale. */
export const chartOf = (results: Results, names: ReadonlyArray<string>): string => {
  const parts: Array<string> = []
  let y = 10
  for (const name of names) {
    const result = results[name]
    if (result?.measures === undefined) continue
    parts.push(text(0, y + 18, `${result.title}: CPU of ${result.unit}, ms`, ' font-weight="bold"'))
    y += HEADING
    const most = Math.max(...result.measures.map(({ cpu }) => cpu))
    for (const { cpu, subject } of result.measures) {
      const width = Math.max(1, Math.round((cpu / most) * (WIDTH - LABEL - 60)))
      const colour = OWN.test(subject) ? "#2f6f5e" : "#9aa5a1"
      parts.push(text(0, y + 13, subject))
      parts.push(`<rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" fill="${colour}"/>`)
      parts.push(text(LABEL + width + 6, y + 13, String(Number(cpu.toPrecision(3)))))
      y += ROW
    }
  }
  const style = "font-family='system-ui, sans-serif' font-size='12' fill='#1c2321'"
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 0 ${WIDTH + 24} ${y + 12}" role="img" ${style}>`,
    `<title>Processor time of sealgate beside peers and floors</title>`,
    `<rect x="-12" width="${WIDTH + 24}" height="${y + 12}" fill="#ffffff"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n")
}
