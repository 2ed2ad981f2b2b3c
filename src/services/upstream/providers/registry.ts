/** The slots that an operator can put a provider in, and whose API is spoken in each. A vendor is one line here. */
export { openAi as provider1 } from "./openai/OpenAi.ts"
export { mistral as provider2 } from "./mistral/Mistral.ts"
export { anthropic as provider3 } from "./anthropic/Anthropic.ts"
export { gemini as provider4 } from "./gemini/Gemini.ts"
