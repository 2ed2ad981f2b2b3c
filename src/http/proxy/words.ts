import type { Words } from "../shared/description/describe.ts"
import { PROXY_EXAMPLES } from "./examples.ts"
import { PROXY_GLOSSARY } from "./glossary.ts"

/** What the proxy's description says beside its types. */
export const PROXY_WORDS: Words = { glossary: PROXY_GLOSSARY, examples: PROXY_EXAMPLES }
