/** Whether an address may become a link: nothing that runs, and nothing of this page. */
export function isWebAddress(url: string): boolean {
  try {
    const { protocol, username, password } = new URL(url);
    return (protocol === "https:" || protocol === "http:") && !username && !password;
  } catch {
    return false;
  }
}
