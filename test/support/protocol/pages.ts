/** The pages of the protocol's specification. */
import { readdirSync, readFileSync } from "node:fs"

const FOLDER = "docs/protocol"

/** Pages whose sections are normative, in the order of their sections. */
const NORMATIVE = ["README.md", "session.md", "evidence.md", "sealing.md", "responses.md", "receipts.md", "errors.md"]

const read = (name: string): string => readFileSync(`${FOLDER}/${name}`, "utf8")

/** The text of all normative sections. */
export const specification = NORMATIVE.map(read).join("\n")

export const registries = read("registries.md")

/** All pages, by name. */
export const pages: ReadonlyMap<string, string> = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith(".md"))
    .map((name) => [name, read(name)]),
)
