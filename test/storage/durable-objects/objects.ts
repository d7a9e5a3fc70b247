/** The Worker in front of the objects of a test: the first name of a path is an object's. */
export interface Objects {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

/** Answers a request by the object of its path. */
export function fetchFromObject(request: Request, { OBJECTS }: { readonly OBJECTS: Objects }): Promise<Response> {
  return OBJECTS.get(OBJECTS.idFromName(new URL(request.url).pathname)).fetch(request);
}
