/** Requests as others would write them. Tokens are never written out: they come from the environment. */
import type { Request } from "./request.ts"

/** What comes back, which decides how it is read. */
export type Answer = "json" | "text" | "stream" | "nothing"

const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const curl = ({ body, headers, method, needsToken, url }: Request, answer: Answer): string =>
  [
    `curl ${answer === "stream" ? "-sN" : "-s"}${method === "GET" || (method === "POST" && body !== undefined) ? "" : ` -X ${method}`} ${shellQuoted(url)}`,
    ...(needsToken ? ['-H "authorization: Bearer $SEALGATE_TOKEN"'] : []),
    ...headers.map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`-d ${shellQuoted(body)}`]),
  ].join(" \\\n  ")

const READ: Readonly<Record<Answer, string>> = {
  json: "console.log(response.status, await response.json())",
  text: "console.log(response.status, await response.text())",
  stream: "for await (const text of response.body!.pipeThrough(new TextDecoderStream())) console.log(text)",
  nothing: "console.log(response.status)",
}

const indented = (text: string): string => text.replaceAll("\n", "\n  ")

const typeScript = ({ body, headers, method, needsToken, url }: Request, answer: Answer): string => {
  const fields = [
    ...(needsToken ? ["authorization: `Bearer ${process.env.SEALGATE_TOKEN}`"] : []),
    ...headers.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
  ]
  const options = [
    ...(method === "GET" ? [] : [`method: ${JSON.stringify(method)}`]),
    ...(fields.length === 0 ? [] : [`headers: { ${fields.join(", ")} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${indented(body)})`]),
  ]
  const init = options.length === 0 ? "" : `, {\n${options.map((option) => `  ${option},\n`).join("")}}`
  return `const response = await fetch(${JSON.stringify(url)}${init})\n${READ[answer]}`
}

export const LANGUAGES = { curl, TypeScript: typeScript } as const
export type Language = keyof typeof LANGUAGES
