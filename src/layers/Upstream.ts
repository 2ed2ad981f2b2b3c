/** Which providers serve: the configured ones, or the built-in echo when there are none. */
import { Upstream } from "../services/upstream/Upstream.ts"

export const layerUpstream = Upstream.layerEcho
