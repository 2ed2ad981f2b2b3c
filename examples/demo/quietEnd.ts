/** Ends the process where its reader has left, as `head` does once it has had enough. */
export const endQuietly = (): void => {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    process.exit(0)
  })
}
