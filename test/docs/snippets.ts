/** Collects the fenced blocks of the documentation and says how each is tested. */
import { globSync, readFileSync } from "node:fs"

export interface Snippet {
  /** `docs/reference/clients.md:61`. */
  readonly at: string
  /** `docs/reference/clients.md sh 2`: the second block of its language on its page. */
  readonly name: string
  readonly language: string
  readonly text: string
}

const FENCED = /^```(\S*)\n([^]*?)^```$/gm

/** The program that a diff leads to. */
const applied = (diff: string): string =>
  diff
    .split("\n")
    .filter((line) => !line.startsWith("-"))
    .map((line) => line.slice(1))
    .join("\n")

export const snippets: ReadonlyArray<Snippet> = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...globSync("docs/**/*.md").toSorted(),
].flatMap((page) => {
  const text = readFileSync(page, "utf8")
  const seen = new Map<string, number>()
  return [...text.matchAll(FENCED)].map(([, written = "", block = ""], i, all) => {
    const [language, program] = written === "diff" ? ["ts", applied(block)] : [written, block]
    const count = (seen.get(language) ?? 0) + 1
    seen.set(language, count)
    const line = text.slice(0, all[i]?.index).split("\n").length
    return { at: `${page}:${line}`, name: `${page} ${language} ${count}`, language, text: program }
  })
})

/**
 * Languages whose blocks are not run. Grammars and vectors of the protocol have separate tests; agents get the settings of
 * TOML blocks on their command line.
 */
export const SHOWN = new Set(["text", "mermaid", "cddl", "abnf", "toml"])

interface Program {
  /** Numbers of earlier blocks of the page that the program continues. */
  readonly after?: ReadonlyArray<number>
  /** Lines appended to print a result. */
  readonly shown?: string
  /** Expected part of the output. */
  readonly says: string
}

/** Every program of the documentation, with its expected output. */
export const PROGRAMS: Readonly<Record<string, Program>> = {
  "README.md ts 1": {
    shown: `const { choices } = await openai.chat.completions.create({ model: "echo-1", messages: [{ role: "user", content: "Hi" }] })
console.log(choices[0]?.message.content)`,
    says: "Hi",
  },
  "README.md ts 2": { says: "Hello echo echo-1\nTell me more" },
  "docs/how-to/embed.md ts 1": { says: "http://127.0.0.1:" },
  "docs/how-to/openai-gateway.md ts 1": { says: "Hi" },
  "docs/reference/clients.md ts 1": {
    shown: `const { choices } = await openai.chat.completions.create({ model: "echo-1", messages: [{ role: "user", content: "Hi" }] })
console.log(choices[0]?.message.content, (await openai.responses.create({ model: "echo-1", input: "Hi" })).output_text)`,
    says: "Hi Hi",
  },
  "docs/reference/clients.md ts 2": {
    after: [1],
    shown: `const { content } = await anthropic.messages.create({ model: "echo-1", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] })
console.log(content[0]?.text)
const { generateText } = await import("ai")
for (const model of [aiOpenAI("echo-1"), aiAnthropic("echo-1")]) console.log((await generateText({ model, prompt: "Hi" })).text)`,
    says: "Hi\nHi\nHi",
  },
  "docs/reference/clients.md ts 3": {
    shown: "console.log(completion.choices[0]?.message.content, receipt.status)",
    says: "Hello complete",
  },
  "docs/reference/gateway-api.md ts 1": { shown: "console.log(status)", says: "sample echo-1\ncompleted" },
  "docs/tutorial.md ts 2": { says: "refused as tampered" },
}

/**
 * Programs and commands that the test does not run, with the reason. For commands it checks the syntax, and names and flags
 * against the command's help.
 */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "docs/how-to/coding-agents.md sh 2": "needs Claude Code, which test:agents runs",
  "docs/how-to/coding-agents.md sh 3": "needs opencode, which test:agents runs",
  "docs/how-to/coding-agents.md sh 4": "needs Aider",
  "docs/how-to/coding-agents.md sh 5": "needs Continue",
  "docs/reference/clients.md ts 4": "lines of a program that needs providers of two vendors",
  "docs/reference/conformance.md sh 2": "client.py stands for the reader's own client; CI runs the kit against ours",
  "docs/reference/conformance.md sh 3": "it serves until it is stopped; CI runs the kit against ours",
  "docs/how-to/attestation.md sh 2": "needs a confidential machine; test/cli/attest.test.ts runs them with a stand-in",
  "docs/how-to/attestation.md sh 3": "needs a confidential machine; test/cli/attest.test.ts runs them with a stand-in",
  "docs/how-to/attestation.md sh 4": "needs a confidential machine; test/cli/attest.test.ts runs them with a stand-in",
  "docs/how-to/attestation.md ts 1":
    "needs a confidential machine; test/integration/ProvenCode.test.ts uses the same calls",
  "docs/how-to/maintenance.md sh 1": "needs the shell of SQLite; the tests of back-ups run it",
  "docs/how-to/maintenance.md sh 2":
    "needs the programs of Postgres in the server's version; the tests of back-ups run it",
  "docs/how-to/compose.md sh 1": "needs Docker",
  "docs/how-to/compose.md sh 2": "needs Docker",
  "docs/how-to/release.md sh 1": "needs Docker",
  "docs/how-to/kubernetes.md sh 1": "needs a cluster",
  "docs/how-to/nginx.md sh 1": "changes the machine; a test runs nginx with this file",
  "docs/how-to/systemd.md sh 1": "changes the machine; a test verifies the unit",
  "docs/how-to/systemd.md sh 2": "changes the machine; a test verifies the unit",
  "docs/how-to/systemd.md sh 3": "changes the machine; a test verifies the unit",
  "docs/tutorial.md ts 1": "it writes a file; npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 1": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 2": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 3": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 4": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 5": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 6": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 7": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 8": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 9": "npm run test:docs follows the tutorial",
  "docs/tutorial.md sh 10": "npm run test:docs follows the tutorial",
}
