import { createContext } from "preact"
import type { Schemas } from "./openApi.ts"

/** The schemas that others refer to by name. */
export const SchemasContext = createContext<Schemas>({})
