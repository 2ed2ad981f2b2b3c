import type { Words } from "../shared/description/describe.ts"
import { GATEWAY_EXAMPLES } from "./examples.ts"
import { GATEWAY_GLOSSARY } from "./glossary.ts"

/** What the gateway's description says beside its types. */
export const GATEWAY_WORDS: Words = { glossary: GATEWAY_GLOSSARY, examples: GATEWAY_EXAMPLES }
