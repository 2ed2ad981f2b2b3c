/** Extracts a pasted token: alone, from a header, or from the line that the gateway prints. */
export const tokenIn = (pasted: string): string =>
  pasted
    .trim()
    .replace(/^export\s+/, "")
    .replace(/^SEALGATE_TOKEN=/, "")
    .replace(/^(authorization:\s*)?bearer\s+/i, "")
    .replaceAll(/^["']|["']$/g, "")
