import { Effect } from "effect"
import type { clientSettings } from "../../layers/config/clientSettings.ts"
import { type Setting, decodeSettings } from "../../layers/config/Setting.ts"
import { unusable } from "../CommandFailed.ts"

type ClientSetting = (typeof clientSettings)[keyof typeof clientSettings]

/** What clients are told by settings. A mistake there is one of the call, as it would be in a flag. */
export const clientValues = <const Settings extends Readonly<Record<string, ClientSetting & Setting<unknown>>>>(
  settings: Settings,
) => Effect.mapError(decodeSettings(settings), ({ message }) => unusable(message))
