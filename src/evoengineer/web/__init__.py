"""The dashboard: `evoengineer serve`. Pages over an archive that is only ever read; work is done by other processes.

app.py      the routes, and what each page shows
guard.py    who may ask: host names, the token, forgery of requests, headers
work.py     starting, stopping and resuming runs as processes of their own
events.py   telling pages that something has changed
templates/  pages (Jinja, escaped), static/ their script; style and charts are the report's (report/assets/)
"""
