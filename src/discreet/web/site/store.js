// What a user said, on this device alone: ratings by identifier of the item, and what is not wanted.

export class Store {
  constructor(name) {
    Object.assign(this, { name: `discreet:${name}`, ratings: new Map(), unwanted: new Set(), kept: true });
    try {
      const { ratings, unwanted } = JSON.parse(localStorage.getItem(this.name) ?? "{}");
      this.ratings = new Map(Object.entries(ratings ?? {}));
      this.unwanted = new Set(unwanted ?? []);
    } catch {
      this.kept = false; // storage is off, or holds something else: go on without
    }
  }

  rate(item, value) {
    this.unwanted.delete(item);
    this.ratings.set(item, value);
    this.#save();
  }

  remove(item) {
    this.ratings.delete(item);
    this.#save();
  }

  refuse(item) {
    this.unwanted.add(item);
    this.#save();
  }

  clear() {
    this.ratings.clear();
    this.unwanted.clear();
    try {
      localStorage.removeItem(this.name);
    } catch {
      this.kept = false;
    }
  }

  /** Forget what a newer release does not know any more. */
  keepOnly(known) {
    for (const item of [...this.ratings.keys()]) if (!known(item)) this.ratings.delete(item);
    for (const item of [...this.unwanted]) if (!known(item)) this.unwanted.delete(item);
  }

  #save() {
    try {
      localStorage.setItem(this.name, JSON.stringify({ ratings: Object.fromEntries(this.ratings), unwanted: [...this.unwanted] }));
    } catch {
      this.kept = false;
    }
  }
}
