/** placeholder, written next */
export async function runScale(_: { seed: number }): Promise<string> {
  return ''
}
