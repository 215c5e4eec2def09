// Keeps the page and its release on the device, so that it works offline. It answers for these files and no others.
// VERSION and FILES are written above by `discreet export`.

const CACHE = `discreet-${VERSION}`;

self.addEventListener("install", (event) => {
  const fresh = FILES.map((name) => new Request(name, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(fresh)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches.keys()
      .then((names) => Promise.all(names.filter((name) => name.startsWith("discreet-") && name !== CACHE).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url), scope = new URL(self.registration.scope);
  const name = origin === scope.origin && pathname.startsWith(scope.pathname) ? pathname.slice(scope.pathname.length) || "./" : null;
  if (FILES.includes(name)) event.respondWith(kept(name)); // whatever else there is on this server is no business of this page
});

async function kept(name) {
  return (await (await caches.open(CACHE)).match(name)) ?? fetch(name);
}
