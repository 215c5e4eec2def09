// The proof that nothing is sent: count every request after the page has loaded, and have the browser refuse them.

const LOCKED = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'";

/** Forbid this page every further request. Policies can be added to a page, and never taken back. */
export function lock() {
  const meta = document.createElement("meta");
  meta.httpEquiv = "Content-Security-Policy";
  meta.content = LOCKED;
  document.head.append(meta);
}

/** Count from now on; `changed` is told {requests, refused} whenever a number changes. */
export function watch(changed) {
  const counts = { requests: 0, refused: 0 };
  const after = performance.now();
  new PerformanceObserver((list) => {
    // What the browser refused is listed too, as a request that took no time and moved no byte.
    const sent = list.getEntries().filter((entry) => entry.startTime >= after && (entry.responseStart > 0 || entry.transferSize > 0));
    counts.requests += sent.length;
    if (sent.length) changed(counts);
  }).observe({ type: "resource" });
  document.addEventListener("securitypolicyviolation", () => {
    counts.refused += 1;
    changed(counts);
  });
  changed(counts);
}

/** Try to send something; resolves to whether the browser let it through. */
export async function attempt() {
  try {
    await fetch("./?attempt", { method: "POST", body: "anything" });
    return true;
  } catch {
    return false;
  }
}

/** How many files were fetched so far, the page itself included, and their size in bytes. */
export function fetched() {
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  return { files: entries.length, bytes: entries.reduce((sum, entry) => sum + (entry.encodedBodySize || 0), 0) };
}

/** Keep the page on the device, so that it works offline; resolves to whether it is. */
export async function keep() {
  if (!("serviceWorker" in navigator)) return false;
  try {
    await navigator.serviceWorker.register("service-worker.js", { updateViaCache: "all" });
    await navigator.serviceWorker.ready;
    return true;
  } catch {
    return false; // not served over TLS, or not allowed here
  }
}
